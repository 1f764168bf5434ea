import { fitTextToColumn } from '@plinth/kernel'
import { pathProblem } from '@plinth/storage'
import type { AttachmentDraft, InboxMessage, JumpTarget } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { jumpTargetOf } from './jump-target.ts'

const maxMessageIdLength = 200
const maxSubjectLength = 500
const maxContentLength = 65_536
const maxUrlLength = 2_000
/** Maximum length of the variables as JSON, in characters. */
const largestVariables = 16_384
const maxAttachments = 20

/** A valid message in the form in which it is stored. */
export interface CheckedMessage {
  readonly messageId: string
  readonly subject: string
  readonly content: string
  readonly variables: Readonly<Record<string, string | number>>
  readonly jump: JumpTarget
  readonly attachments: readonly AttachmentDraft[]
  /** True if the conversation is muted, so that no item is written. */
  readonly isMuted: boolean
  /** Recipients without duplicates, in ascending order to prevent deadlocks. */
  readonly userIds: readonly number[]
  /** See `AddOptions`. */
  readonly replacedAt?: number | undefined
}

export const invalid = (field: string, rule: string) =>
  businessError('message-invalid', { params: { field, rule }, data: { field, rule } })

/** Checks a message. @throws BusinessError "400" `notification-inbox.message-invalid` */
export function checkMessage(message: InboxMessage): CheckedMessage {
  const { messageId, subject, content, variables = {}, attributes = {}, userIds } = message
  if (!isLine(messageId, 1, maxMessageIdLength))
    throw invalid('messageId', `1 to ${maxMessageIdLength} printable characters`)
  if (content.length > maxContentLength) throw invalid('content', `at most ${maxContentLength} characters`)
  return {
    messageId,
    subject: fitTextToColumn(subject, maxSubjectLength),
    content: fitTextToColumn(content, maxContentLength),
    variables: [subject, content].some(mayBeKey) ? variablesOf(variables) : {},
    jump: jumpTargetOf(attributes),
    attachments: attachmentsOf(attributes['attachments']),
    isMuted: attributes['muted'] === true,
    userIds: userIdsOf(userIds),
  }
}

function userIdsOf(userIds: readonly number[]): readonly number[] {
  for (const userId of userIds) {
    if (!Number.isSafeInteger(userId) || userId < 1) throw invalid('userIds', 'whole numbers from 1')
  }
  return [...new Set(userIds)].sort((a, b) => a - b)
}

/** True if a text may be the key of a translation. Other texts use no variables, so their variables are not stored. */
const mayBeKey = (text: string) => /^\s*\{?messages\./.test(text)

function variablesOf(variables: Readonly<Record<string, unknown>>): Record<string, string | number> {
  const written = new Map<string, string | number>()
  for (const [name, value] of Object.entries(variables)) {
    if (typeof value === 'number' && Number.isFinite(value)) written.set(name, value)
    if (typeof value === 'string' || typeof value === 'boolean')
      written.set(name, fitTextToColumn(String(value), largestVariables))
  }
  if (JSON.stringify([...written]).length > largestVariables)
    throw invalid('variables', `at most ${largestVariables} characters`)
  return Object.fromEntries(written)
}

function attachmentsOf(value: unknown): readonly AttachmentDraft[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.length > maxAttachments) {
    throw invalid('attachments', `a list of at most ${maxAttachments}`)
  }
  return value.map((one, index) => attachmentOf(one, `attachments[${index}]`))
}

function attachmentOf(value: unknown, field: string): AttachmentDraft {
  const { name, disk, path, contentType, size, url }: Readonly<Record<string, unknown>> = Object(value)
  const check = (member: string, isRight: boolean, rule: string) => {
    if (!isRight) throw invalid(`${field}.${member}`, rule)
  }
  check('name', isLine(name, 1, 200), '1 to 200 printable characters')
  check('contentType', isLine(contentType, 3, 127) && /^[\w.+-]+\/[\w.+-]+(?:; .+)?$/.test(contentType), 'type/subtype')
  check('size', typeof size === 'number' && Number.isSafeInteger(size) && size >= 0, 'bytes, 0 or more')
  check(
    'disk',
    disk === undefined ? path === undefined : isLine(disk, 1, 64),
    'the name of a disk, together with a path',
  )
  check(
    'path',
    path === undefined ? disk === undefined : typeof path === 'string' && pathProblem(path) === undefined,
    'a path of a disk',
  )
  check(
    'url',
    url === undefined ? disk !== undefined : isWebAddress(url),
    'an http or https address, where there is no disk',
  )
  const file = disk === undefined ? {} : { disk: String(disk), path: String(path) }
  return {
    name: String(name),
    contentType: String(contentType),
    size: Number(size),
    ...file,
    ...(url === undefined ? {} : { url: String(url) }),
  }
}

const isLine = (value: unknown, shortest: number, longest: number): value is string =>
  typeof value === 'string' && value.length >= shortest && value.length <= longest && !/[\p{Cc}\p{Cs}]/u.test(value)

/**
 * True if the value is an `http` or `https` URL. Pages use it as a link, so `javascript:` and other schemes are
 * rejected.
 */
function isWebAddress(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > maxUrlLength || /[\s\p{Cc}\p{Cs}]/u.test(value)) return false
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
}
