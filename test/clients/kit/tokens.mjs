// Users of the oracle and their tokens, made with the libraries that published
// clients use.
import { delegate, invoke } from "@ucanto/core";
import * as DID from "@ipld/dag-ucan/did";
import { ed25519 } from "@ucanto/principal";

export const oracle = process.env.ORACLE;

const seconds = (ttl) => Math.floor(Date.now() / 1000) + ttl;

// text is the wire form of a token: the CAR in base64.
async function text(token) {
  const { ok, error } = await token.archive();
  if (error) throw error;
  return Buffer.from(ok).toString("base64");
}

// newUser makes a key and what signs with it.
export async function newUser() {
  const signer = await ed25519.generate();
  return {
    signer,
    did: signer.did(),
    // invocation says who calls, for ttl seconds.
    async invocation({ ttl = 600, audience = oracle, can = "*", resource = "ixo:oracle", proofs = [], issuer = signer } = {}) {
      const capability = { can, with: resource };
      return text(await invoke({ issuer, audience: DID.parse(audience), capability, expiration: seconds(ttl), proofs }).delegate());
    },
    // delegation lets the oracle act for the user, for ttl seconds; null: for ever.
    async delegation({ ttl = 3600, audience = oracle, can = "memory/*", resource = "ixo:memory", notBefore } = {}) {
      const expiration = ttl === null ? Infinity : seconds(ttl);
      return text(await delegate({ issuer: signer, audience: DID.parse(audience), capabilities: [{ can, with: resource }], expiration, notBefore }));
    },
    // grant is a delegation to another user, to be a proof.
    grant(other, { ttl = 3600, can = "*", resource = "ixo:oracle" } = {}) {
      return delegate({ issuer: signer, audience: other.signer, capabilities: [{ can, with: resource }], expiration: seconds(ttl) });
    },
  };
}
