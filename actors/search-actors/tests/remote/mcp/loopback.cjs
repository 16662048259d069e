// Makes a server that would listen everywhere listen on loopback, on a port of the system's choice, and say which.
const net = require("net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ...rest) {
  this.once("listening", () => console.error(`bound ${this.address().port}`));
  const done = rest.find((one) => typeof one === "function");
  return listen.call(this, 0, "127.0.0.1", done);
};
