/** What a kind of panel is. Each is one file in kinds/: `kind` says what it is, and its component draws it. */
import type { Component } from "svelte";
import type { RunBrief } from "../api/client";
import type { Cursor } from "../chart/cursor.svelte";
import type { Region } from "./regions";

/** As they stand in the address; an absent one is empty. */
export type Settings = Record<string, string>;

export interface Field {
  key: string;
  label: string;
  /** One column, one that mostly has numbers, several, one of some words, a text of several lines. */
  is: "column" | "number" | "columns" | "choice" | "text";
  /** For a column: what stands for none, where none is allowed. */
  none?: string;
  /** For a choice: the values and their words, the usual one first. */
  choices?: [string, string][];
  hint?: string;
}

/** Names of columns, as far as runs of the project have them. */
export type Known = string[];

export interface Kind {
  title: string;
  /** One sentence for who looks for the right one. */
  about: string;
  /** Where it stands among the others. */
  rank: number;
  /** The settings of a new one. */
  usual: (known: Known) => Settings;
  fields: Field[];
  /** The columns of the runs that it draws; none where it draws something else. */
  needs: (settings: Settings) => string[];
  /** What stands above it, unless people gave it a title. */
  titleOf: (settings: Settings) => string;
  /** It takes a row of its own, unless people want otherwise. */
  isWide?: boolean;
}

/** What every kind is drawn with. */
export interface PanelProps {
  settings: Settings;
  /** Those of the table, but for hidden ones. */
  runs: RunBrief[];
  scene: Scene;
  height: number;
  /** Change some of its settings. */
  onset: (changes: Settings) => void;
}

/** What all panels of a workspace share. */
export interface Scene {
  project: string;
  filter: string;
  hidden: string[];
  /** By which runs have colours, empty for none. */
  group: string;
  cursor: Cursor;
  isDark: boolean;
  /** The runs inside a brush of another panel; null where nothing is brushed. */
  brushed: ReadonlySet<string> | null;
  /** Where runs did not fit. */
  regions?: Region[];
  /** Runs that died before they had a value of this column stand below its axis. */
  fallen?: string;
  onpick: (id: string) => void;
  /** These runs are in its ranges; null where it has none. */
  onbrush: (runs: ReadonlySet<string> | null) => void;
  onfilter: (text: string) => void;
}

export interface KindFile {
  kind: Kind;
  default: Component<PanelProps>;
}
