import { createRequire } from 'node:module'
import { BusinessError } from '@plinth/kernel'
import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'
import { successCode, successEnvelope } from '../envelope.ts'
import type { RouteInfo } from './declaration.ts'

interface CheckedRoute extends Pick<RouteInfo, 'method' | 'path' | 'plugin'> {
  readonly schema: TSchema
}

/**
 * Returns the success envelope if it matches the schema of the route. Otherwise the serializer would remove undeclared
 * members silently (decision D6).
 *
 * @throws BusinessError "500" `http.response-undeclared` for undeclared members, `http.response-invalid` for values
 *   that violate the schema
 */
export function checkedSuccessEnvelope(
  data: unknown,
  reply: FastifyReply,
  route: CheckedRoute,
): Record<string, unknown> {
  const envelope = successEnvelope(data)
  const text = JSON.stringify(envelope, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
  const given: { readonly data: unknown } = JSON.parse(text)
  const sent = serialized(envelope, reply)
  const lost = sent === undefined ? [] : lostMembers(given, sent)
  if (sent !== undefined && lost.length === 0) return envelope
  const broken = brokenRules(route.schema, given.data)
  const members = lost.length > 0 ? lost : broken.map(({ member }) => member)
  const { method, path, plugin } = route
  const place = `${method} ${path} of plugin "${plugin}"`
  if (broken.length === 0) {
    throw new BusinessError(
      '500',
      `The handler of ${place} returns members that its schema does not have: ${members.join(', ')}. Add them to the schema, or remove them in the handler.`,
      { reason: 'http.response-undeclared', params: { route: place, members: members.join(', ') }, data: { members } },
    )
  }
  const problems = broken.map(({ member, rule }) => `${member} ${rule}`).join('; ')
  throw new BusinessError(
    '500',
    `The handler of ${place} returns a value that breaks its schema: ${problems}. Correct the handler or the schema.`,
    { reason: 'http.response-invalid', params: { route: place, problems }, data: { members } },
  )
}

/** Returns `undefined` if the serializer cannot write the envelope. */
function serialized(envelope: Record<string, unknown>, reply: FastifyReply) {
  try {
    return sentEnvelope(envelope, reply)
  } catch {
    return undefined
  }
}

const require = createRequire(import.meta.url)

/** Returns the violated rules of the schema. Ajv is loaded only for an invalid payload. */
function brokenRules(schema: TSchema, data: unknown): readonly { readonly member: string; readonly rule: string }[] {
  const { Ajv }: typeof import('ajv') = require('ajv')
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  const isValid = ajv.compile(JSON.parse(JSON.stringify(schema)))
  if (isValid(data)) return []
  return (isValid.errors ?? []).map(({ instancePath, params, message = '' }) => {
    const steps = instancePath.split('/').slice(1)
    const missing: string | undefined = params['missingProperty']
    const path = missing === undefined ? steps : [...steps, missing]
    const member = path.reduce((place, step) => (/^\d+$/.test(step) ? `${place}[${step}]` : `${place}.${step}`), 'data')
    return { member, rule: missing === undefined ? message : 'is missing' }
  })
}

/** Returns the payload as the caller receives it, without members that the schema does not declare. */
export function serializedDataOf(data: unknown, reply: FastifyReply): unknown {
  return sentEnvelope(successEnvelope(data), reply).data
}

function sentEnvelope(envelope: Record<string, unknown>, reply: FastifyReply): { readonly data?: unknown } {
  return JSON.parse(String(reply.serializeInput(envelope, successCode)))
}

/** Returns the paths of values in `given` that are missing or different in `sent`. The arguments are JSON values. */
function lostMembers(given: unknown, sent: unknown, path = ''): string[] {
  if (typeof given !== 'object' || given === null) return Object.is(given, sent) ? [] : [path]
  if (typeof sent !== 'object' || sent === null) return [path]
  const sentMembers = new Map(Object.entries(sent))
  return Object.entries(given).flatMap(([name, member]) => {
    const place = Array.isArray(given) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    return sentMembers.has(name) ? lostMembers(member, sentMembers.get(name), place) : [place]
  })
}
