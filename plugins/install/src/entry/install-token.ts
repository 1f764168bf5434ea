import { createHash, timingSafeEqual } from 'node:crypto'
import type { ConfigAdmin } from '@plinth/kernel'
import type { InstallConfig } from '../config.ts'

const tokenKey = 'platform.install.token'
const shortestInProduction = 32
const fewestCharacters = 12

/** The configured install token. */
export interface InstallToken {
  readonly isConfigured: boolean
  /** Why the installation must stay closed: production without a token that nobody can guess (decision D62). */
  readonly closedBecause: 'missing' | 'weak' | undefined
  /** Whether nobody can guess it. */
  readonly isStrong: boolean
  /** In constant time, whatever the lengths. */
  matches(given: string): boolean
}

/** Reads the token. In production the environment alone may give it: files and the database travel too easily. */
export function installToken(
  config: InstallConfig,
  { explain }: Pick<ConfigAdmin, 'explain'>,
  { isProduction }: { readonly isProduction: boolean },
): InstallToken {
  const isFromEnvironment = explain(tokenKey)?.effective.source === 'environment'
  const token = isProduction && !isFromEnvironment ? '' : config.get(tokenKey).trim()
  const digest = digestOf(token)
  return {
    isConfigured: token !== '',
    isStrong: isStrong(token),
    closedBecause: !isProduction ? undefined : token === '' ? 'missing' : isStrong(token) ? undefined : 'weak',
    matches: (given) => token !== '' && timingSafeEqual(digestOf(given), digest),
  }
}

const digestOf = (text: string) => createHash('sha256').update(text).digest()

const isStrong = (token: string) => token.length >= shortestInProduction && new Set(token).size >= fewestCharacters
