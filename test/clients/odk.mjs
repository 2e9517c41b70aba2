// ODK's own form engine reads the forms of a file and the instances that a
// device has filled in, and tells what it makes of them: which nodes are asked,
// which answers it refuses, what it calculates, and what it would send.
// The caller compares: internal/survey/openrosa.
import { JSDOM } from 'jsdom'
import { createRequire } from 'node:module'
import { readFileSync, writeFileSync } from 'node:fs'

const { window } = new JSDOM('<!doctype html>')
globalThis.window = window
for (const name of [
  'document', 'DOMParser', 'XMLSerializer', 'Node', 'Element', 'Document', 'XMLDocument', 'XPathResult', 'XPathEvaluator', 'XPathExpression', 'Attr', 'Text', 'Comment',
  'CharacterData', 'CDATASection', 'ProcessingInstruction', 'DocumentFragment', 'NamedNodeMap', 'NodeFilter', 'HTMLElement',
]) {
  globalThis[name] = window[name]
}
globalThis.__dirname = process.cwd()
globalThis.require = createRequire(import.meta.url)
const { loadForm } = await import('@getodk/xforms-engine')

// look tells about every node below one. A group that is not asked says so for
// all that is in it.
function look(node, out) {
  const s = node.currentState
  const v = node.validationState?.violation
  if (node.nodeType !== 'repeat-range:controlled' && node.nodeType !== 'repeat-range:uncontrolled') {
    out[s.reference] = { relevant: s.relevant, wrong: v?.condition ?? '', value: s.children ? '' : text(s.instanceValue ?? s.value), choices: s.valueOptions?.map((o) => o.value) ?? null }
  }
  for (const kid of s.children ?? []) look(kid, out)
}

const text = (v) => (v === null || v === undefined ? '' : Array.isArray(v) ? v.join(' ') : String(v))

const forms = JSON.parse(readFileSync(process.env.ODK_IN, 'utf8'))
const told = []
for (const form of forms) {
  const fetchFormAttachment = async (url) => {
    const name = String(url).split('/').pop()
    const content = form.files[name]
    return content === undefined ? new Response('', { status: 404 }) : new Response(content, { status: 200, headers: { 'Content-Type': 'text/csv' } })
  }
  const loaded = await loadForm(form.xml, { fetchFormAttachment, missingResourceBehavior: 'BLANK' })
  if (loaded.status !== 'success') {
    console.log(`# ${loaded.error?.stack ?? loaded.status}`.replaceAll('\n', '\n# '))
    console.log(`not ok load ${form.name}`)
    continue
  }
  const cases = []
  for (const xml of form.cases) {
    const data = new FormData()
    data.set('xml_submission_file', new File([xml], 'xml_submission_file', { type: 'text/xml' }))
    const instance = await loaded.restoreInstance({ data: [data] })
    const nodes = {}
    look(instance.root, nodes)
    const payload = await instance.root.prepareInstancePayload({ payloadType: 'monolithic' })
    cases.push({ nodes, sent: await payload.data[0].get('xml_submission_file').text() })
  }
  told.push({ name: form.name, cases })
  console.log(`ok load ${form.name} and fill in ${cases.length}`)
}
writeFileSync(process.env.ODK_OUT, JSON.stringify(told))
console.log(`1..${forms.length}`)
