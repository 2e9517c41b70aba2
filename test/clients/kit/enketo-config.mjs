// The settings of a site with Enketo whose forms come from ODK: what is not asked has
// no answer, also where other questions look at it. Maps have no pictures.
import config from '../node_modules/enketo-core/config.js'

export default { ...config, excludeNonRelevant: true, maps: [{ name: 'none', tiles: [`${location.origin}/tile.png`], attribution: '' }] }
