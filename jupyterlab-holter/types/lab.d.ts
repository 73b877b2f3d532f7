// As much of JupyterLab 4 as this extension uses, and what the server's extension answers.

export interface Signal<Sender, Args> {
  connect(slot: (sender: Sender, args: Args) => unknown): boolean;
}

export interface Widget {
  readonly node: HTMLElement;
  readonly isDisposed: boolean;
  readonly disposed: Signal<Widget, void>;
  addClass(name: string): void;
  show(): void;
  hide(): void;
}

export interface Dialog extends Widget {
  launch(): Promise<unknown>;
  resolve(): void;
}

export interface Kernel {
  readonly id: string;
  readonly status: string;
}

export interface SessionContext {
  readonly session: { readonly kernel: Kernel | null } | null;
  readonly statusChanged: Signal<SessionContext, string>;
}

export interface NotebookPanel extends Widget {
  readonly sessionContext: SessionContext;
  readonly toolbar: { addItem(name: string, widget: Widget): boolean };
}

export interface NotebookTracker {
  readonly currentWidget: NotebookPanel | null;
  readonly currentChanged: Signal<NotebookTracker, NotebookPanel | null>;
  readonly widgetAdded: Signal<NotebookTracker, NotebookPanel>;
  forEach(fn: (panel: NotebookPanel) => void): void;
}

export interface App {
  readonly serviceManager: { readonly sessions: { refreshRunning(): Promise<void> } };
}

export interface StatusBar {
  registerStatusItem(id: string, item: { item: Widget; align: 'left' | 'middle' | 'right'; rank: number }): unknown;
}

interface ServerSettings {
  readonly baseUrl: string;
}

export interface Lab {
  apputils: {
    Dialog: {
      new (options: { title: string; body: Widget; buttons: unknown[] }): Dialog;
      okButton(): unknown;
      readonly tracker: { readonly widgetAdded: Signal<unknown, Dialog> };
    };
  };
  coreutils: { URLExt: { join(...parts: string[]): string } };
  notebook: { INotebookTracker: unknown };
  services: {
    ServerConnection: {
      makeSettings(): ServerSettings;
      makeRequest(url: string, init: RequestInit, settings: ServerSettings): Promise<Response>;
    };
  };
  statusbar?: { IStatusBar: unknown };
  widgets: { Widget: new (options?: { node: HTMLElement }) => Widget };
}

/** What is taken of something that is limited. */
export interface Usage {
  used_bytes: number;
  limit_bytes: number;
  /** `container`, `machine` or `GPU 0`. */
  of: string;
  kernel_bytes: number | null;
}

export interface Figures {
  kernel_bytes: number;
  processes: number;
  memory: Usage | null;
  gpus: Usage[];
  level: 'ok' | 'near' | 'critical';
}

export interface Death {
  is_death: boolean;
  /** Jupyter does not restart it any more. */
  is_given_up: boolean;
  /** How many have died one soon after the other. */
  in_a_row: number;
  /** The card, escaped. */
  html: string;
}
