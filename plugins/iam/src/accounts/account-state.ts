import { createHash } from 'node:crypto'
import type { User } from '../entities.ts'

/**
 * Returns the digest of `CredentialHolder.state`. The stored hash of the password contains a random salt, so the digest
 * reveals nothing about the password.
 */
export const stateOf = ({
  passwordHash = null,
  email = null,
  emailKey = null,
  enabled,
}: Pick<User, 'passwordHash' | 'email' | 'emailKey' | 'enabled'>): string =>
  createHash('sha256')
    .update(JSON.stringify([passwordHash, email, emailKey, enabled]))
    .digest('hex')
