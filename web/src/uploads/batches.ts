import { useSyncExternalStore } from "react";
import { queue, type Batch } from "./queue";

export const useBatches = (): readonly Batch[] => useSyncExternalStore(queue.subscribe, queue.snapshot);
