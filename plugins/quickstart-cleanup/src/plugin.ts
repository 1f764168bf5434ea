import { definePlugin } from '@plinth/kernel'
import { keys } from './config.ts'

/** Removes the demo data of modules, after a preview (document 3, "Demo-data cleanup"). */
export default definePlugin({
  id: 'quickstart-cleanup',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: keys,
})
