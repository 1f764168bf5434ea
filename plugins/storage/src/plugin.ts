import { definePlugin } from '@plinth/kernel'

/** Files on public and private disks (decision A15). */
export default definePlugin({ id: 'storage', version: '1.0.0', kernel: '^1.0.0' })
