// The end of an output that is being written: bounded, so that a page can show an agent that prints for days.

const MOST = 512 * 1024;
const ESC = "\u001b";
// Colours of terminals: `ESC [ … m`. Others stay, and are shown as what they are.
const COLOURS = new RegExp(`${ESC}\\[[0-9;:]*m`, "g");

export class Tail {
  text = "";
  dropped = 0;
  #part = "";

  add(text: string): void {
    const all = this.#part + text;
    // A colour that is cut in two is kept for the next piece.
    const cut = all.lastIndexOf(ESC);
    const open = cut >= 0 && all.length - cut < 32 && /^.(?:\[[0-9;:]*)?$/s.test(all.slice(cut));
    this.#part = open ? all.slice(cut) : "";
    this.text += (open ? all.slice(0, cut) : all).replace(COLOURS, "").replaceAll("\r\n", "\n");
    if (this.text.length > MOST) {
      const from = this.text.length - MOST / 2;
      const line = this.text.indexOf("\n", from);
      const at = line >= 0 && line - from < 4096 ? line + 1 : from;
      this.dropped += at;
      this.text = this.text.slice(at);
    }
  }

  clear(): void {
    this.text = this.#part = "";
    this.dropped = 0;
  }
}
