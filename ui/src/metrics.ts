/** What is known of a metric by its name: which way it is better, whether it is a loss, whether of data that was held out. */
import { told, type Better } from "./state/better.svelte";

const LOW = new Set("loss error err perplexity ppl nll bpb bpc mse rmse mae mape wer cer fid kl regret latency eer divergence".split(" "));
const HIGH = new Set("acc accuracy f1 auc auroc auprc score reward return precision recall map iou miou dice bleu rouge psnr ssim r2 throughput utilization".split(" "));
const RATE = /(win|success|pass|hit|solve)_?rates?$|_per_(s|sec|second)$|pass@\d+$/i;

/** As its program said; else `val/loss` is better when it is low, `top1_acc` when it is high; null: nobody can tell. */
export function betterOf(name: string): Better | null {
  const metric = name.replace(/^summary\./, "");
  const said = told.of(metric) ?? told.of(metric.replace(/\.(min|max|mean|last|first|best)$/, ""));
  if (said) return said;
  const words = `${name} ${name.replace(/([a-z])([A-Z])/g, "$1 $2")}`.toLowerCase().match(/[a-z]+\d?/g) ?? [];
  if (words.some((word) => LOW.has(word) || word.endsWith("loss"))) return "low";
  return RATE.test(name) || words.some((word) => HIGH.has(word) || HIGH.has(word.replace(/\d$/, ""))) ? "high" : null;
}

const LOSS = /(^|[/_.-])(loss|nll|perplexity|ppl)($|[/_.-])/i;
const HELD_OUT = /(^|[/_.-])(val|valid|validation|eval|test|dev)($|[/_.-])/i;

/** `loss`, `total_loss`, `nll`, and not `lossless_ratio`. */
export function isLoss(name: string): boolean {
  return LOSS.test(name);
}

export function isHeldOut(name: string): boolean {
  return HELD_OUT.test(name);
}
