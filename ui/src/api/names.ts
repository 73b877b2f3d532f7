/** Names in one parameter of the address: commas separate them, those inside a name are escaped. */
export function joinNames(names: string[]): string {
  return names.map((name) => name.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
}

export function splitNames(text: string): string[] {
  return text.split(",").filter(Boolean).map((name) => name.replaceAll("%2C", ",").replaceAll("%25", "%"));
}
