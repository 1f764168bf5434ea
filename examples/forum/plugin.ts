import { definePlugin } from '@plinth/kernel'

/** A small forum with demo data that an operator can remove. */
export default definePlugin({ id: 'example.forum', version: '1.0.0', kernel: '^1.0.0' })
