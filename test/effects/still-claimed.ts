/**
 * Keys whose effect is only claimed by a comment of a test ("effect of" and the key). Prove a key by `effectOf`, then remove it
 * here. Never add a key.
 */
export const stillClaimed: readonly string[] = [
  'platform.cache.command-timeout',
  'platform.cache.connect-timeout',
  'platform.cache.database',
  'platform.cache.enabled',
  'platform.cache.host',
  'platform.cache.key-prefix',
  'platform.cache.password',
  'platform.cache.port',
  'platform.cache.tls',
  'platform.cache.username',
  'platform.notification.channels.mail.unsubscribe-key',
  'platform.notification.channels.mail.unsubscribe-secret',
  'platform.notification.channels.social.enabled',
  'platform.shared-store.database.poll-interval',
  'platform.shared-store.database.sweep-interval',
  'platform.social.accounts',
  'platform.social.endpoint',
  'platform.social.token-key',
  'platform.web3.contract-wallets.chain',
  'platform.web3.rpc.agreement',
]

/** The length of the list. Lower it whenever a key is proven. Never raise it. */
export const stillClaimedCount = 20
