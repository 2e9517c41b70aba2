// What the original oracle runtime decides about a token, built on the
// published ucanto validator. Its clock is Date.now, which callers fix.
import { Delegation, UCAN } from '@ucanto/core'
import { ed25519 } from '@ucanto/principal'
import { capability, claim, Schema, URI } from '@ucanto/validator'

const unpack = async text => {
  const got = await Delegation.extract(new Uint8Array(Buffer.from(text, 'base64')))
  if (got.error) throw got.error
  return got.ok
}

const covers = (have, want) =>
  have === want || (/[/:]\*$/.test(have) && want.startsWith(have.slice(0, -1)))

const ability = can =>
  capability({
    can,
    with: URI.match({ protocol: 'ixo:' }),
    nb: Schema.struct({}),
    derives: (claimed, given) =>
      covers(given.with, claimed.with) ? { ok: {} } : { error: new Error('resource not covered') },
  })

// end is the earliest expiry along the first proofs.
const end = d => {
  const own = Number.isFinite(d?.expiration) ? d.expiration : Infinity
  return d?.proofs?.length ? Math.min(own, end(d.proofs[0])) : own
}

export const judge = ({ server, resolve, maxTTL }) => {
  const keysOf = did => (did.startsWith('did:key:') ? [did] : resolve[did] ?? [])
  const resolveDIDKey = async did => {
    const keys = keysOf(did)
    return keys.length ? { ok: keys } : { error: { name: 'DIDKeyResolutionError', did, message: `unknown ${did}` } }
  }

  const invocation = async (text, { can, resource, roots }) => {
    const token = await unpack(text)
    if (token.audience.did() !== server) throw new Error(`for ${token.audience.did()}`)
    const result = await claim(ability(can), [token], {
      authority: ed25519.Verifier.parse(keysOf(server)[0]),
      principal: ed25519.Verifier,
      resolveDIDKey,
      canIssue: (_, issuer) => roots.includes('*') || roots.includes(issuer),
      validateAuthorization: () => ({ ok: {} }),
    })
    if (result.error) throw result.error
    if (!covers(token.capabilities[0].with, resource)) throw new Error(`on ${token.capabilities[0].with}`)
    return token
  }

  const auth = async text => {
    const token = await invocation(text, { can: '*', resource: 'ixo:oracle', roots: ['*'] })
    const until = end(token)
    if (!Number.isFinite(until)) throw new Error('no expiry')
    if (until > Math.floor(Date.now() / 1000) + maxTTL) throw new Error('expires too late')
    return token
  }

  const signed = async token => {
    const issuer = token.issuer.did()
    let key
    for (const candidate of keysOf(issuer)) {
      const real = ed25519.Verifier.parse(candidate)
      const verifier = { did: () => issuer, verify: (payload, sig) => real.verify(payload, sig) }
      if (await UCAN.verifySignature(token.data, verifier)) key = candidate
    }
    if (!key) throw new Error(`signature of ${issuer}`)
    for (const proof of token.proofs) {
      const audience = proof.audience.did()
      if (audience !== issuer && !keysOf(audience).includes(key)) throw new Error('broken chain')
      await signed(proof)
    }
  }

  const delegation = async text => {
    const token = await unpack(text)
    if (token.audience.did() !== server) throw new Error(`for ${token.audience.did()}`)
    if (end(token) < Math.floor(Date.now() / 1000)) throw new Error('expired')
    await signed(token)
    return token
  }

  return async entry => {
    try {
      const token =
        entry.kind === 'auth' ? await auth(entry.token)
        : entry.kind === 'delegation' ? await delegation(entry.token)
        : await invocation(entry.token, { can: entry.can, resource: entry.with, roots: entry.roots })
      return { accept: true, issuer: token.issuer.did(), cid: token.cid.toString() }
    } catch (err) {
      return { accept: false, why: String(err.message ?? err).split('\n').slice(0, 4).join(' ').slice(0, 160) }
    }
  }
}
