/** The radius of a node: its area grows with the documents that hold it. */
export const radius = (documents: number): number => 3 + Math.min(14, Math.sqrt(documents));
