import { definePlugin } from '@plinth/kernel'

export default definePlugin({
  id: 'sign-in-oidc',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {},
  setup() {},
})
