// Makes the page that Enketo's form engine runs in: kit/enketo.mjs with the
// packages it imports, in one file, as a site that uses the engine would make it.
// test/collect opens it in a browser.
import { build } from 'esbuild'

// The engine leaves to the site which module each of these names is.
const core = 'enketo-core/src/js/'
await build({
  entryPoints: ['kit/enketo.mjs'],
  outfile: process.env.ENKETO_OUT,
  bundle: true,
  format: 'iife',
  logLevel: 'error',
  external: ['libxslt'], // what the transformer takes where there is no browser
  alias: {
    'enketo/config': './kit/enketo-config.mjs',
    'enketo/widgets': `${core}widgets.js`,
    'enketo/translator': `${core}fake-translator.js`,
    'enketo/dialog': `${core}fake-dialog.js`,
    'enketo/file-manager': `${core}file-manager.js`,
    'enketo/xpath-evaluator-binding': `${core}xpath-evaluator-binding.js`,
  },
})
console.log('ok bundle')
console.log('1..1')
