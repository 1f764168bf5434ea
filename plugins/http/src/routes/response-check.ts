import { BusinessError } from '@plinth/kernel'
import type { FastifyReply } from 'fastify'
import { success, successCode } from '../envelope.ts'

/**
 * The envelope of a success, after comparing what the handler answered with what the serializer leaves of it. Throws
 * when something is lost or changed: a serializer drops what its schema does not declare without a word (decision D6).
 */
export function checkedSuccess(data: unknown, reply: FastifyReply): Record<string, unknown> {
  const envelope = success(data)
  const sent = sentEnvelope(envelope, reply)
  const given: unknown = JSON.parse(
    JSON.stringify(envelope, (_, value) => (typeof value === 'bigint' ? Number(value) : value)),
  )
  const members = lostMembers(given, sent)
  if (members.length === 0) return envelope
  throw new BusinessError('500', `The response holds what its schema does not declare: ${members.join(', ')}.`, {
    reason: 'http.response-undeclared',
    params: { members: members.join(', ') },
    data: { members },
  })
}

/** The payload as a caller gets it: what the schema of the answer does not declare is gone. */
export function sentData(data: unknown, reply: FastifyReply): unknown {
  return sentEnvelope(success(data), reply).data
}

function sentEnvelope(envelope: Record<string, unknown>, reply: FastifyReply): { readonly data?: unknown } {
  return JSON.parse(reply.serializeInput(envelope, successCode) as string)
}

/** Paths of what `given` holds and `sent` does not, or holds differently. Both are JSON values. */
export function lostMembers(given: unknown, sent: unknown, path = ''): string[] {
  if (typeof given !== 'object' || given === null) return Object.is(given, sent) ? [] : [path]
  if (typeof sent !== 'object' || sent === null) return [path]
  return Object.entries(given).flatMap(([name, member]) => {
    const place = Array.isArray(given) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    return name in sent ? lostMembers(member, (sent as Record<string, unknown>)[name], place) : [place]
  })
}
