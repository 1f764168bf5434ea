import { errorTable } from '@plinth/kernel'

/** Every error of this plugin. */
export const sharedStoreError = errorTable({
  PLINTH_SHARED_STORE_UNAVAILABLE: `Redis at {{place}} does not answer: {{reason}}.
    Start Redis, or correct platform.cache.host, platform.cache.port and the credentials. It is reconnected by itself.`,
  PLINTH_SHARED_STORE_REFUSED: `Redis at {{place}} refuses a command: {{reason}}.
    Mend what Redis complains about; it must be 6.2 or newer and hold no foreign keys under platform.cache.key-prefix.`,
})
