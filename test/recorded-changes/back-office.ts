import type { RecordedChange } from './recorded-change.ts'

export const backOffice: readonly RecordedChange[] = [
  {
    file: 'plugins/console/web/admin/pages/forms/write-dialog.tsx',
    fragment: `        query: valuesFromRow(write.query, row),
`,
    replacement: '',
    effect: 'An action sends no version, so the deletion of a changed row is no conflict.',
    breaks: [],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/row-actions.tsx',
    fragment: 'disabled={!action.allowed}',
    replacement: 'disabled={false}',
    effect: 'An action without its permission can be chosen.',
    breaks: [],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/cell.tsx',
    fragment: "<Difference before={valueAt(row, column.before ?? '')} after={value}",
    replacement: "<Difference before={value} after={valueAt(row, column.before ?? '')}",
    effect: 'A difference shows the new value as the old one.',
    breaks: [],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/shell/session/session-state.ts',
    fragment: `    this.#channel.postMessage('out')
`,
    replacement: '',
    effect: 'Other tabs stay signed in after somebody signs out.',
    breaks: [],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/list-view.tsx',
    fragment: `            onClick={() => void rows.refetch()}
`,
    replacement: '',
    effect: 'The reload button has no effect.',
    breaks: [],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/list-view.tsx',
    fragment: 'onDone={() => setPicked(new Set())}',
    replacement: 'onDone={() => undefined}',
    effect: 'Rows stay selected after an action on several rows.',
    breaks: [],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/cell.tsx',
    fragment: '{labelOf(column, text) ?? text}',
    replacement: "{labelOf(column, text) ?? ''}",
    effect: 'A state that the page does not know is shown as nothing.',
    breaks: ['C-034'],
    noticedBy: ['plugins/console/test/row-actions.test.ts'],
  },
]
