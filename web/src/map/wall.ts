import { useEffect } from "react";

const LARGEST = 1.5;
const SMALLEST = 0.5;
const STEP = 0.05;
const AGAIN = [0, 300, 1200]; // milliseconds: fonts, the queue and the canvas come later

/** Text on a wall is half as large again, but what does not fit on the screen is not read at all. */
export function useWallZoom(wall: boolean, content: string): void {
  useEffect(() => {
    if (!wall) return;
    const root = document.documentElement;
    const fit = () => {
      for (let zoom = LARGEST; zoom >= SMALLEST; zoom -= STEP) {
        root.style.setProperty("--wall-zoom", zoom.toFixed(2));
        if (root.scrollHeight <= window.innerHeight) break;
      }
    };
    const timers = AGAIN.map((after) => setTimeout(fit, after));
    const slow = setInterval(() => root.scrollHeight > window.innerHeight && fit(), 5000);
    window.addEventListener("resize", fit);
    return () => {
      timers.forEach(clearTimeout);
      clearInterval(slow);
      window.removeEventListener("resize", fit);
      root.style.removeProperty("--wall-zoom");
    };
  }, [wall, content]);
}
