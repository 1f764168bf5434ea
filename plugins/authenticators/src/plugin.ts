import { definePlugin } from '@plinth/kernel'

export default definePlugin({
  id: 'authenticators',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {},
  setup() {},
})
