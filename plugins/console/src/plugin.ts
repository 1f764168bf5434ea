import { definePlugin } from '@plinth/kernel'

/** The pages of the product in the browser. */
export default definePlugin({ id: 'console', version: '1.0.0', kernel: '^1.0.0' })
