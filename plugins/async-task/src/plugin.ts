import { definePlugin } from '@plinth/kernel'

/** Queued tasks with progress, cancel and a file as their result (decision A13). */
export default definePlugin({ id: 'async-task', version: '1.0.0', kernel: '^1.0.0' })
