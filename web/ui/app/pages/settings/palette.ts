// Settings in the palette.

/** Those whose title begins with the text, then those that hold it, then those it is another word for. */
export function fitting<One extends { title: string; words: string }>(all: One[], text: string): One[] {
  const typed = text.trim().toLowerCase();
  const rank = ({ title, words }: One): number => {
    const name = title.toLowerCase();
    if (name.startsWith(typed)) return 0;
    return name.includes(typed) ? 1 : words.toLowerCase().includes(typed) ? 2 : 3;
  };
  return all.map((one) => ({ one, rank: rank(one) })).filter(({ rank }) => rank < 3).sort((a, b) => a.rank - b.rank).map(({ one }) => one);
}
