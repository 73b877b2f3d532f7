/** Addresses of the files of media. */
import { apiUrl, part, type MediaItem } from "../api/client";

export function fileUrl(run: string, path: string, isDownload = false): string {
  return apiUrl(`runs/${part(run)}/files/${path.split("/").map(part).join("/")}`, isDownload ? { download: "true" } : {});
}

/** The small picture where there is one. */
export function thumbUrl(run: string, item: MediaItem): string {
  return fileUrl(run, item.small || item.path);
}
