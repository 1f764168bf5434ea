export {
  type Bounds,
  type ChangeOf,
  type Choice,
  type Column,
  type ColumnDescription,
  type Columns,
  type CreateOf,
  c,
  type EditColumns,
  type Facts,
  type FactsOf,
  localizedOf,
  type Plain,
  type PlainName,
  type RowOf,
  type Text,
  type TextName,
  type TimeName,
  type ViewOf,
  withTitle,
} from './columns.ts'
export { choiceLabelsOf, pageColumnOf, pickerOf } from './page-columns.ts'
export type { CustomParts, CustomShape, Member, MemberOf, Shape, TableShape, ViewContext } from './shape.ts'
export {
  type EntityOf,
  type Erasure,
  type Owner,
  type Table,
  type TableDescription,
  type TableOptions,
  table,
  type Unique,
} from './table.ts'
