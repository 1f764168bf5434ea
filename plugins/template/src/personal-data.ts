import { type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { TemplateRow } from './entities.ts'

/** Tables with personal data. The content of a template is not about the user, so it is not exported. */
export const templateTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, TemplateRow, {
    title: bilingual('Templates that the user changed last', '用户最后修改的模板'),
    owner: { username: 'updated_by' },
    omit: ['subject', 'content', 'html', 'compiled', 'variables'],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason: bilingual('The template belongs to the product.', '模板属于产品。'),
  }),
]
