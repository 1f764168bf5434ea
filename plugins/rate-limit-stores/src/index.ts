import type { Plugin } from '@plinth/kernel'
import localTokenBucket from './local-token-bucket.ts'
import memory from './memory.ts'
import sharedBucket from './shared-bucket.ts'
import sharedWindow from './shared-window.ts'

/** All rate limit stores. */
export const rateLimitStores: readonly Plugin[] = [localTokenBucket, memory, sharedBucket, sharedWindow]
