/** Where a popover goes: below what it belongs to, above where there is no room, never over the edge of the window. */
export function showBeside(popover: HTMLElement, anchor: HTMLElement, edge: "left" | "right" = "right"): void {
  popover.showPopover();
  const [beside, own] = [anchor.getBoundingClientRect(), popover.getBoundingClientRect()];
  const wanted = edge === "right" ? beside.right - own.width : beside.left;
  popover.style.left = `${Math.max(8, Math.min(wanted, innerWidth - own.width - 8))}px`;
  const isBelow = beside.bottom + own.height + 8 < innerHeight;
  popover.style.top = `${isBelow ? beside.bottom + 4 : Math.max(8, beside.top - own.height - 4)}px`;
}
