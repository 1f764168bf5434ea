import { defineProduct } from '@plinth/kernel'
import { notifications } from '@plinth/presets/notifications'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'

export default defineProduct({
  name: 'sample-name',
  plugins: [...platform, ...operations, ...notifications],
  config: { 'platform.rate-limit.default-store': 'shared-window' },
})
