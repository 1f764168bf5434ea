import { hash, randomBytes } from 'node:crypto'

/** Lets people and secret scanners recognise a token. */
const prefix = 'plinth_'
const secretBytes = 32
const form = /^plinth_[A-Za-z0-9_-]{43}$/

/** A new token of 256 random bits. */
export const newAccessToken = () => prefix + randomBytes(secretBytes).toString('base64url')

/** What is stored of a token: enough to recognise it, useless to whoever reads the database. */
export const tokenHash = (token: string) => hash('sha256', token, 'hex')

/** False for what was never a token: it costs no query. */
export const isTokenShaped = (text: string) => form.test(text)
