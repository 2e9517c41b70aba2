// Writes the golden tokens: node gen.mjs > ../golden.json
import * as CBOR from '@ipld/dag-cbor'
import { CAR, Delegation, UCAN } from '@ucanto/core'
import { ed25519, RSA } from '@ucanto/principal'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { judge } from './judge.mjs'

export const NOW = 1893456000 // 2030-01-01T00:00:00Z
Date.now = () => NOW * 1000

const key = n => ed25519.Signer.derive(new Uint8Array(32).fill(n))
const [user, oracle, agent, other, second] = await Promise.all([1, 2, 3, 4, 5].map(key))
const USER = 'did:ixo:ixo1user00000000000000000000000000000000000'
const ORACLE = 'did:ixo:ixo1oracle000000000000000000000000000000000'
const TWO = 'did:ixo:ixo1twokeys0000000000000000000000000000000'
const resolve = {
  [USER]: [user.did()],
  [ORACLE]: [oracle.did()],
  [TWO]: [other.did(), second.did()],
}
const server = { did: () => ORACLE }
const ixoUser = user.withDID(USER)
const ixoOracle = oracle.withDID(ORACLE)

const login = [{ can: '*', with: 'ixo:oracle' }]
const memory = [{ can: 'memory/*', with: 'ixo:memory' }]
const make = (o = {}) =>
  Delegation.delegate({ issuer: user, audience: server, capabilities: login, expiration: NOW + 600, ...o })
const text = async d => Buffer.from((await Delegation.archive(await d)).ok).toString('base64')
const mint = o => text(make(o))
const give = o => make({ capabilities: memory, expiration: NOW + 86400, ...o })

const cases = []
const add = (kind, name, token, accept, more = {}) => cases.push({ name, kind, token, accept, ...more })
const auth = async (name, token, accept, reason) => add('auth', name, await token, accept, reason ? { reason } : {})
const delegation = async (name, token, accept, reason) => add('delegation', name, await token, accept, reason ? { reason } : {})

// Blocks of a token as a list, so that they can be bent and packed again.
const blocks = async d => [...(await d).export()]
const block = async (bytes, code = CBOR.code) => ({ bytes, cid: CID.createV1(code, await sha256.digest(bytes)) })
const pack = async (list, leaf = list.at(-1)) => {
  const root = await block(CBOR.encode({ 'ucan@0.9.1': leaf.cid }))
  const all = new Map([...list, root].map(b => [`${b.cid}`, b]))
  return Buffer.from(CAR.encode({ roots: [root], blocks: all })).toString('base64')
}
const bend = async (d, change) => {
  const list = await blocks(d)
  const model = CBOR.decode(list.at(-1).bytes)
  change(model)
  return pack([...list.slice(0, -1), await block(CBOR.encode(model))])
}

// --- invocations that log in
await auth('inv_didkey', mint(), true)
await auth('inv_didixo', mint({ issuer: ixoUser }), true)
await auth('inv_two_keys_first', mint({ issuer: other.withDID(TWO) }), true)
await auth('inv_two_keys_second', mint({ issuer: second.withDID(TWO) }), true)
await auth('inv_didixo_unknown', mint({ issuer: user.withDID('did:ixo:ixo1nobody') }), false, 'unknown_issuer')
await auth('inv_didixo_wrong_key', mint({ issuer: other.withDID(USER) }), false, 'bad_signature')
await auth('inv_didweb', mint({ issuer: user.withDID('did:web:user.example') }), false, 'unknown_issuer')
await auth('inv_expired', mint({ expiration: NOW - 1 }), false, 'expired')
await auth('inv_exp_now', mint({ expiration: NOW }), false, 'expired')
await auth('inv_exp_next', mint({ expiration: NOW + 1 }), true)
await auth('inv_no_exp', mint({ expiration: Infinity }), false, 'endless')
await auth('inv_ttl_most', mint({ expiration: NOW + 900 }), true)
await auth('inv_ttl_long', mint({ expiration: NOW + 901 }), false, 'too_long')
await auth('inv_wrong_audience', mint({ audience: other }), false, 'wrong_audience')
await auth('inv_oracle_didkey', mint({ audience: oracle }), false, 'wrong_audience')
await auth('inv_wrong_can', mint({ capabilities: [{ can: 'oracle/call', with: 'ixo:oracle' }] }), false, 'not_capable')
await auth('inv_wrong_with', mint({ capabilities: [{ can: '*', with: 'ixo:memory' }] }), false, 'not_capable')
await auth('inv_wrong_scheme', mint({ capabilities: [{ can: '*', with: 'https://oracle.example/' }] }), false, 'not_capable')
await auth('inv_wildcard_with', mint({ capabilities: [{ can: '*', with: 'ixo:*' }] }), true)
const odd = [{
  nothing: null, yes: true, no: false, 'whole': 100, big: 1e20, bigger: 1e21, small: 1.25e-7, tiny: 5e-324, minus: -0.5, zero: -0,
  unsafe: 9007199254740993n, most: 18446744073709551615n, least: -9223372036854775808n,
  text: '<>&"\\/\u0000\u001f\u007f\b\f\n\r\t\u2028\u2029é漢😀', '': 'empty', '😀': 1, '\ufb01': 2, '\ue000': 3, nested: { b: [1, [2, { c: [] }], {}], a: {} },
}, { second: 'fact' }]
await auth('inv_odd_facts', mint({ facts: odd }), true)
const link = CID.createV1(0x55, await sha256.digest(new Uint8Array([1, 2, 3])))
await auth('inv_nb_link_bytes', mint({ capabilities: [{ can: '*', with: 'ixo:oracle', nb: { link, bytes: new Uint8Array([0, 1, 254, 255]) } }] }), true)
await auth('inv_nonce_nbf', mint({ nonce: 'n-1', notBefore: NOW - 10 }), true)
await auth('inv_nbf_now', mint({ notBefore: NOW }), false, 'not_yet')
await auth('inv_nbf_future', mint({ notBefore: NOW + 60 }), false, 'not_yet')
await auth('inv_two_caps', mint({ capabilities: [...login, ...memory] }), true)
await auth('inv_two_caps_turned', mint({ capabilities: [...memory, ...login] }), false, 'not_capable')
await auth('inv_caps_apart', mint({ capabilities: [{ can: 'memory/read', with: 'ixo:oracle' }, { can: '*', with: 'ixo:memory' }] }), false, 'not_capable')
await auth('inv_tampered_signature', bend(make(), m => { m.s[40] ^= 1 }), false, 'bad_signature')
await auth('inv_tampered_exp', bend(make(), m => { m.exp += 60 }), false, 'bad_signature')
await auth('inv_tampered_issuer', bend(make(), m => { m.iss[5] ^= 1 }), false, 'bad_signature')
await auth('inv_unsigned_member', bend(make(), m => { m.x = 1 }), false, 'malformed')
await auth('inv_empty_nonce', bend(make(), m => { m.nnc = '' }), false, 'malformed')
await auth('inv_upper_can', bend(make({ capabilities: [...login, { can: 'memory/read', with: 'ixo:memory' }] }), m => { m.att[1].can = 'Memory/READ' }), true)
const fake = await blocks(make())
await auth('inv_fake_cid', pack([{ bytes: fake[0].bytes, cid: (await block(new Uint8Array([9]))).cid }]), false, 'malformed')
const good = await mint()
await auth('inv_truncated', good.slice(0, good.length - 200), false, 'malformed')
await auth('inv_garbage', 'bm90IGEgdG9rZW4gYXQgYWxs', false, 'malformed')
await auth('inv_empty', '', false, 'malformed')
await auth('inv_base64url', good.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''), true)
await auth('inv_no_padding', (await mint({ nonce: 'ab' })).replace(/=+$/, ''), true)
await auth('inv_line_breaks', good.replace(/(.{76})/g, '$1\r\n') + '\n', true)
const jwt = UCAN.format((await make()).data)
await auth('inv_plain_jwt', jwt, false, 'malformed')
await auth('inv_car_with_jwt', pack([await block(new TextEncoder().encode(jwt), 0x55)]), true)
await auth('inv_rsa', mint({ issuer: await RSA.generate() }), false, 'malformed')
const proof = await give({ audience: user, issuer: other })
await auth('inv_with_proof', mint({ proofs: [proof] }), true)
await auth('inv_with_missing_proof', mint({ proofs: [proof.cid] }), true)
await auth('inv_with_expired_proof', mint({ proofs: [await give({ audience: user, issuer: other, expiration: NOW - 5 })] }), false, 'expired')

// --- delegations
await delegation('del_didkey', text(give()), true)
await delegation('del_didixo', text(give({ issuer: ixoUser })), true)
await delegation('del_two_caps', text(give({ capabilities: [...memory, { can: 'fs/*', with: 'ixo:filesystem/*' }] })), true)
await delegation('del_expired', text(give({ expiration: NOW - 1 })), false, 'expired')
await delegation('del_exp_now', text(give({ expiration: NOW })), false, 'expired')
await delegation('del_no_exp', text(give({ expiration: Infinity })), false, 'endless')
await delegation('del_year', text(give({ expiration: NOW + 31536000 })), true)
await delegation('del_over_year', text(give({ expiration: NOW + 31536001 })), false, 'too_long')
await delegation('del_wrong_audience', text(give({ audience: other })), false, 'wrong_audience')
await delegation('del_nbf_future', text(give({ notBefore: NOW + 60 })), false, 'not_yet')
await delegation('del_tampered', bend(give(), m => { m.s[40] ^= 1 }), false, 'bad_signature')
const first = o => give({ audience: agent, ...o })
const chain = async (o = {}, p = {}) => give({ issuer: agent, proofs: [await first(p)], ...o })
await delegation('del_chain', text(chain({ capabilities: [{ can: 'memory/read', with: 'ixo:memory' }] })), true)
await delegation('del_chain_same', text(chain()), true)
await delegation('del_chain_endless_root', text(chain({}, { expiration: Infinity })), true)
await delegation('del_chain_alias', text(give({ issuer: ixoUser, proofs: [await give({ issuer: other, audience: user })] })), true)
await delegation('del_chain_misaligned', text(chain({}, { audience: other })), false, 'broken_chain')
await delegation('del_chain_expired_proof', text(chain({}, { expiration: NOW - 1 })), false, 'expired')
await delegation('del_chain_future_proof', text(chain({}, { notBefore: NOW + 60 })), false, 'not_yet')
const bent = await blocks(first())
const model = CBOR.decode(bent.at(-1).bytes)
model.s[40] ^= 1
const bentProof = Delegation.create({ root: await block(CBOR.encode(model)), blocks: new Map() })
await delegation('del_chain_broken', text(give({ issuer: agent, proofs: [bentProof] })), false, 'bad_signature')
await delegation('del_chain_escalate', text(chain({ capabilities: [{ can: '*', with: 'ixo:*' }] })), false, 'escalated')
await delegation('del_chain_drops_caveat', text(chain({}, { capabilities: [{ ...memory[0], nb: { room: 'a' } }] })), false, 'escalated')
await delegation('del_chain_missing_proof', text(give({ issuer: agent, proofs: [(await first()).cid] })), false, 'missing_proof')

// --- invocations of a capability, with proofs from a root
const service = async (name, token, accept, reason) =>
  add('claim', name, await token, accept, { can: 'memory/read', with: 'ixo:memory', roots: [USER], ...(reason && { reason }) })
const read = [{ can: 'memory/read', with: 'ixo:memory' }]
const call = async (o = {}, p = {}) =>
  make({ issuer: agent, capabilities: read, proofs: [await give({ issuer: ixoUser, audience: agent, ...p })], ...o })
await service('svc_chain', text(call()), true)
await service('svc_root', mint({ issuer: ixoUser, capabilities: read }), true)
await service('svc_escalated', text(call({}, { capabilities: [{ can: 'skills/*', with: 'ixo:skills' }] })), false, 'escalated')
await service('svc_no_proof', mint({ issuer: agent, capabilities: read }), false, 'untrusted')
await service('svc_misaligned', text(call({}, { audience: other })), false, 'broken_chain')
await service('svc_expired_proof', text(call({}, { expiration: NOW - 1 })), false, 'expired')
await service('svc_missing_proof', text(make({ issuer: agent, capabilities: read, proofs: [(await give({ issuer: ixoUser, audience: agent })).cid] })), false, 'missing_proof')
await service('svc_other_can', text(call({ capabilities: [{ can: 'memory/write', with: 'ixo:memory' }] })), false, 'not_capable')

const verdict = judge({ server: ORACLE, resolve, maxTTL: 900 })
for (const c of cases) c.js = await verdict(c)
console.log(JSON.stringify({ now: NOW, server: ORACLE, resolve, cases }, null, 1))
