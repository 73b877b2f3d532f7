/** The time, a second at a time, for ages such as "3 min ago". */
class Clock {
  now = $state(Date.now());
}

export const clock = new Clock();

setInterval(() => {
  if (document.visibilityState === "visible") clock.now = Date.now();
}, 1000);
