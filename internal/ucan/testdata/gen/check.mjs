// Says what the original decides about tokens minted in Go:
// node check.mjs < ../minted.json
import { judge } from './judge.mjs'
import { readFileSync } from 'node:fs'

const file = JSON.parse(readFileSync(0, 'utf8'))
Date.now = () => file.now * 1000
let failed = 0
for (const c of file.cases) {
  const got = await judge({ server: c.audience, resolve: file.resolve, maxTTL: 900 })(c)
  const good = got.accept && got.issuer === c.issuer && got.cid === c.cid
  console.log(good ? 'ok  ' : 'FAIL', c.name, good ? '' : JSON.stringify(got))
  failed += good ? 0 : 1
}
process.exit(failed ? 1 : 0)
