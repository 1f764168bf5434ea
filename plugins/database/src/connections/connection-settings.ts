/** Milliseconds after which a wait ends. */
interface WaitLimits {
  /** For a connection to a server, or for one that is free. */
  readonly connectTimeoutMs: number
  /** For a statement on a server. */
  readonly queryTimeoutMs: number
  /** For the work of a transaction. */
  readonly transactionTimeoutMs: number
}

export interface SqliteSettings extends WaitLimits {
  readonly type: 'sqlite'
  /** Absolute path, or `:memory:`. */
  readonly file: string
  readonly busyTimeoutMs: number
  readonly synchronous: 'full' | 'normal'
}

export type TransportSecurity = 'off' | 'encrypt' | 'verify'

export interface ServerSettings extends WaitLimits {
  readonly type: 'postgresql' | 'mysql' | 'mariadb'
  readonly host: string
  readonly port: number
  readonly name: string
  readonly username: string
  readonly password: string
  readonly tls: TransportSecurity
  readonly poolSize: number
  readonly preparedStatements: boolean
}

/** Which database, and how to reach it. */
export type ConnectionSettings = SqliteSettings | ServerSettings

/** What a person fills in to reach a database. */
export type ProbeTarget =
  | Pick<SqliteSettings, 'type' | 'file'>
  | (Pick<ServerSettings, 'type' | 'host' | 'port' | 'name' | 'username' | 'password'> &
      Partial<Pick<ServerSettings, 'tls'>>)
