import { definePlugin } from '@plinth/kernel'

/** Applications of third parties: signed requests, scopes, quotas and metering. */
export default definePlugin({ id: 'open-platform', version: '1.0.0', kernel: '^1.0.0' })
