// A TCP proxy that can cut the connections it carries, as a train in a tunnel
// does.
import { once } from "node:events";
import net from "node:net";
import { cleanup } from "./run.mjs";

// newProxy carries connections to the server at target.
export async function newProxy(target) {
  const { hostname, port } = new URL(target);
  const open = new Set();
  let down = false;
  const server = net.createServer((near) => {
    if (down) return near.destroy();
    const far = net.connect(Number(port), hostname);
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const one of open) one.destroy();
  };
  cleanup(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut,
    // fail cuts everything and takes no connection until heal.
    fail() {
      down = true;
      cut();
    },
    heal() {
      down = false;
    },
  };
}
