import { pluginWith } from '@plinth/resource'
import type { DigestCloser } from './closer.ts'
import { businessError, manageDigests, viewDigests } from './declarations.ts'
import { root } from './definitions.ts'
import { Digest } from './entities.ts'

interface MessageParts {
  readonly closer: Pick<DigestCloser, 'close' | 'discard'>
}

/** Open digests, and those that ended. */
export const collectedMessages = pluginWith<MessageParts>().resource(Digest, {
  area: 'digest',
  path: `${root}/messages`,
  errors: businessError,
  list: {
    access: viewDigests,
    filters: ['state', 'definitionId', 'userId'],
    range: 'openedAt',
  },
  get: { access: viewDigests },
  actions: {
    sendNow: {
      access: manageDigests,
      title: ['Send now', '立即发送'],
      confirm: [
        'The {{itemCount}} collected items are sent in one message.',
        '已收集的 {{itemCount}} 个项目将合并为一条消息发送。',
      ],
      throws: ['digest.not-open', 'digest.definition-missing'],
      when: { state: 'open' },
      set: { state: 'sent' },
      async inTransaction({ row, parts }) {
        if (!(await parts.closer.close(row.id, { isByOperator: true }))) throw businessError('not-open')
      },
    },
    discard: {
      access: manageDigests,
      title: ['Discard', '丢弃'],
      confirm: ['The {{itemCount}} collected items are not sent.', '已收集的 {{itemCount}} 个项目将不会发送。'],
      tone: 'danger',
      throws: ['digest.not-open'],
      when: { state: 'open' },
      set: { state: 'discarded' },
      async inTransaction({ row, parts }) {
        if (!(await parts.closer.discard(row.id))) throw businessError('not-open')
      },
    },
  },
  page: { group: 'messages', order: 28 },
})
