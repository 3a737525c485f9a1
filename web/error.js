// What goes wrong.

export class HologramError extends Error {
  // kind: "InvalidArgument", "ShapeMismatch", "InvalidProgram", … as in C++. remedy: what to do about
  // it, where there is more to say than the message does.
  constructor(kind, message, remedy = '') {
    super(message);
    this.name = 'HologramError';
    this.kind = kind;
    this.remedy = remedy;
  }
}

export const invalid = (message) => new HologramError('InvalidArgument', message);
