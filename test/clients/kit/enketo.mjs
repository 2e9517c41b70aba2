// A page with Enketo's form engine, for test/collect: it shows a form with the
// answers of an instance, and tells what it makes of them in the words of odk.mjs.
import { Form } from 'enketo-core'
import { transform } from 'enketo-transformer/web'

const withoutPositions = (path) => path.replace(/\[\d+\]/g, '')

// lists makes the external instances of the model of the files of a form.
const lists = (model, files) =>
  [...new DOMParser().parseFromString(model, 'text/xml').querySelectorAll('instance[src]')].map((el) => ({
    id: el.id,
    xml: new DOMParser().parseFromString(files[el.getAttribute('src').split('/').pop()], 'text/xml'),
  }))

// paths gives the nodes of the primary instance by their paths: those inside of
// repeats have the number of the element in it.
function paths(root, repeats) {
  const out = new Map()
  const walk = (el, path) => {
    out.set(path, el)
    const seen = {}
    for (const kid of el.children) {
      const name = `${path}/${kid.nodeName}`
      seen[kid.nodeName] = (seen[kid.nodeName] ?? 0) + 1
      walk(kid, repeats.has(withoutPositions(name)) ? `${name}[${seen[kid.nodeName]}]` : name)
    }
  }
  walk(root, `/${root.nodeName}`)
  return out
}

// branches gives what shows each node, by the path without positions and in their order.
function branches(view) {
  const out = new Map()
  for (const el of view.querySelectorAll('.question, .calculation, .or-group, .or-group-data, .or-repeat')) {
    const named = el.matches('.or-group, .or-group-data, .or-repeat') ? el : el.querySelector('[data-name], [name]')
    const path = el === named ? el.getAttribute('name') : (named?.dataset.name ?? named?.getAttribute('name'))
    if (path) out.set(path, [...(out.get(path) ?? []), el])
  }
  return out
}

function look(form) {
  const view = form.view.html
  const repeats = new Set([...view.querySelectorAll('.or-repeat-info')].map((el) => el.dataset.name))
  const shown = branches(view)
  const counted = {}
  const nodes = {}
  for (const [path, node] of paths(form.model.rootElement, repeats)) {
    const plain = withoutPositions(path)
    const at = (counted[plain] = (counted[plain] ?? -1) + 1)
    const all = shown.get(plain)
    const el = all?.[at] ?? all?.[0]
    const parent = nodes[path.slice(0, path.lastIndexOf('/'))]
    nodes[path] = {
      relevant: (parent?.relevant ?? true) && !el?.closest('.disabled') && asked(form, el, plain, at),
      wrong: el?.matches('.question.invalid-constraint') ? 'constraint' : el?.matches('.question.invalid-required') ? 'required' : '',
      value: node.children.length > 0 ? '' : node.textContent,
      choices: null,
    }
  }
  return nodes
}

// asked is for calculations, which are not on the page.
function asked(form, el, path, at) {
  const relevant = el?.matches('.calculation') && el.querySelector('[data-relevant]')?.dataset.relevant
  return !relevant || form.model.evaluate(relevant, 'boolean', path, at)
}

const next = () => new Promise((done) => setTimeout(done))

// fill shows a form with each of its instances.
window.fill = async ({ xml, files, cases }) => {
  const parts = await transform({ xform: xml })
  const told = []
  for (const instanceStr of cases) {
    document.querySelector('#place').innerHTML = parts.form
    const form = new Form(document.querySelector('form.or'), { modelStr: parts.model, instanceStr, external: lists(parts.model, files), submitted: false }, { language: 'en' })
    const trouble = form.init()
    await next()
    if (trouble.length > 0) return { trouble: trouble.map(String) }
    const before = look(form)
    const valid = await form.validate()
    const nodes = look(form)
    told.push({ nodes, before, valid, sent: form.getDataStr({ irrelevant: false }) })
    form.resetView()
  }
  return { cases: told }
}
