import type { KeyDeclaration } from './declaration.ts'

/** `platform.rate-limit.default-window` -> `PLATFORM_RATE_LIMIT_DEFAULT_WINDOW`. */
export function environmentName(key: string): string {
  return key.replace(/[.-]/g, '_').toUpperCase()
}

/** The environment variable of a key: what its declaration names, else `environmentName`. */
export function environmentNameOf(key: string, declaration: KeyDeclaration): string {
  return declaration.env ?? environmentName(key)
}
