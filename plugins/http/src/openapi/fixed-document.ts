import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { envelopeType } from '../envelope.ts'

/** A JSON document that hardly ever changes: written once, answered from one buffer, however many ask for it at a time. */
export class FixedDocument {
  readonly #versionOf: () => string
  readonly #read: () => object
  #version: string | undefined
  #body = Buffer.alloc(0)
  #tag = ''

  /** @param versionOf another text whenever `read` answers another document */
  constructor(versionOf: () => string, read: () => object) {
    this.#versionOf = versionOf
    this.#read = read
  }

  /** Answers it, or 304 to whoever has it (RFC 9110, section 13.1.2). */
  send({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
    const version = this.#versionOf()
    if (version !== this.#version) {
      this.#version = version
      this.#body = Buffer.from(JSON.stringify(this.#read()))
      this.#tag = `"${createHash('sha256').update(this.#body).digest('base64url').slice(0, 22)}"`
    }
    reply.header('etag', this.#tag).header('cache-control', 'no-cache')
    const known = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
    if (known.includes(this.#tag) || known.includes('*')) return reply.code(304).send()
    return reply.type(envelopeType).send(this.#body)
  }
}
