import { definePlugin } from '@plinth/kernel'
import { keys } from './config.ts'

/** Installs a product: in a browser, or by a command (document 3). */
export default definePlugin({
  id: 'install',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: keys,
})
