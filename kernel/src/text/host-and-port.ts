/**
 * Where a server is, for people and in URLs: `db.internal:5432`, `[::1]:5432`.
 *
 * @param port null for the usual one, which is left out
 */
export function hostAndPort(host: string, port: number | null): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === null ? name : `${name}:${port}`
}
