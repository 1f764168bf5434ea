import { adminDetail, createStaticLabelSource, type LabelSource } from '@plinth/admin'
import { localize, type QuickstartCleanup, bilingual as text } from '@plinth/kernel'
import { permissionCodes } from './declarations.ts'

export const moduleLabels = (cleanups: ReadonlyMap<string, QuickstartCleanup>): LabelSource =>
  createStaticLabelSource(
    (locale) => [...cleanups].map(([id, { displayName }]) => ({ id, name: localize(displayName, locale) })),
    permissionCodes.view,
  )

const tones = { ready: 'info', blocked: 'warn', clean: 'good', unknown: 'bad' } as const
const labels = {
  ready: text('Can be removed', '可清理'),
  blocked: text('Blocked', '被阻止'),
  clean: text('No demo data', '无演示数据'),
  unknown: text('Cannot be read', '无法读取'),
}
const outcomeTones = { cleaned: 'good', failed: 'bad', blocked: 'warn', clean: 'quiet' } as const
const outcomes = {
  cleaned: text('Removed', '已清理'),
  failed: text('Failed', '失败'),
  blocked: text('Blocked', '被阻止'),
  clean: text('Nothing to remove', '无需清理'),
}
const moduleTitle = text('Module', '模块')
const module = { labels: 'quickstart-cleanup.module', page: 'quickstart-cleanup.module' }

const overview = adminDetail('getAdminInstallQuickstartCleanups', (it) => ({
  id: 'quickstart-cleanup.modules',
  title: text('Demo data', '演示数据'),
  sections: [
    {
      columns: [
        it.count('executableCount', { title: text('Modules that can be cleaned now', '当前可清理的模块') }),
        it.rows('modules', (row) => [
          row.reference('moduleCode', module, { title: moduleTitle }),
          row.status('state', tones, { labels }),
          row.count('targetCount'),
          row.count('blockerCount'),
        ]),
      ],
    },
  ],
  actions: [
    it.action('postAdminInstallQuickstartCleanups', {
      label: text('Remove all demo data', '清理全部演示数据'),
      confirm: text(
        'Removes the demo data of all modules that can be cleaned. You cannot undo this.',
        '所有可清理模块的演示数据将被删除，无法恢复。',
      ),
      params: {},
      body: { confirmation: 'confirmation' },
      type: 'confirmation',
      tone: 'danger',
      answer: (run) => [
        run.flag('passed'),
        run.count('cleanedCount'),
        run.count('failedCount'),
        run.count('skippedCount'),
        run.rows('modules', (row) => [
          row.text('moduleName', { title: moduleTitle }),
          row.status('outcome', outcomeTones, { labels: outcomes }),
          row.text('message'),
        ]),
      ],
      outcome: { field: 'passed', good: [true] },
    }),
  ],
}))

const one = adminDetail('getAdminInstallQuickstartCleanupsByModuleCode', (it) => ({
  id: 'quickstart-cleanup.module',
  title: text('Demo data of a module', '模块的演示数据'),
  name: 'moduleName',
  param: 'moduleCode',
  sections: [
    {
      columns: [
        it.status('state', tones, { labels }),
        it.text('moduleCode', { mono: true }),
        it.text('dataType', { mono: true }),
        it.rows('targets', (row) => [row.text('name'), row.count('count'), row.text('type', { mono: true })]),
        it.rows('blockers', (row) => [row.text('message'), row.count('count'), row.text('code', { mono: true })]),
      ],
    },
  ],
  actions: [
    it.action('postAdminInstallQuickstartCleanupsByModuleCode', {
      label: text('Remove demo data', '清理演示数据'),
      confirm: text(
        'Removes the demo data of {{moduleName}}. You cannot undo this.',
        '{{moduleName}} 的演示数据将被删除，无法恢复。',
      ),
      params: { moduleCode: 'moduleCode' },
      body: { moduleCode: 'moduleCode', dataType: 'dataType', confirmation: 'confirmation.confirmation' },
      when: { executable: true },
      type: 'confirmation.confirmation',
      tone: 'danger',
      answer: (run) => [
        run.flag('passed'),
        run.rows('modules', (row) => [
          row.text('moduleName', { title: moduleTitle }),
          row.status('outcome', outcomeTones, { labels: outcomes }),
          row.text('message'),
        ]),
      ],
      outcome: { field: 'passed', good: [true] },
    }),
  ],
}))

export const pages = [overview, one]
