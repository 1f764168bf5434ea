import { bilingual } from '@plinth/kernel'
import { columns, values } from './page-columns.ts'
import {
  among,
  type DataOf,
  flag,
  labels,
  list,
  localized,
  map,
  mapOf,
  named,
  oneOf,
  optional,
  plainValue,
  record,
  scalar,
  text,
  textOr,
} from './page-vocabulary.ts'

/* Schemas of everything that writes: actions, forms and bulk actions, with their fields and previews. */

export const labelPicker = record({
  /** Kind of objects from which the user chooses; see `labelSources`. */
  labels: text,
  /** Replaces the title of the member, which is a title for ids. */
  title: optional(localized),
  /** Further values that are no objects, with their names. */
  more: optional(labels),
  /** True if the user may also type a value that no source has. */
  free: optional(flag),
  /** True if the kind belongs to a plugin that may be missing. The member then has a plain field. */
  optional: optional(flag),
})
/** Lets the user choose an object by its name. */
export type PageLabelPicker = DataOf<typeof labelPicker>

const parameter = oneOf<{ readonly field: string } | { readonly value: string | number | boolean }>({
  field: text,
  value: scalar,
})
/** Value of a parameter: a constant, or the value of another field of the form or of a member of the page's object. */
export type PageParameter = DataOf<typeof parameter>

const choices = record({
  /** Id of a GET operation that returns a list. It is called with the permissions of the user. */
  operation: text,
  /** Member of an item that contains the value to send. */
  value: text,
  /** Member of an item that is shown to the user. Default: `value`. */
  name: optional(text),
  /** Path parameters. */
  params: optional(map(parameter)),
  /**
   * Query parameters. While a field that sets a parameter is empty, there are no choices. When the user changes it, the
   * chosen value is cleared.
   */
  query: optional(map(parameter)),
  /** Query parameter for the typed text. Without it, the browser searches the first page of items. */
  search: optional(text),
  /** Replaces the title of the member, which is a title for ids. */
  title: optional(localized),
})
/**
 * Lets the user choose from the items that an operation returns, for example the cities of a country. A user who may
 * not call the operation types the value instead.
 */
export type PageChoices = DataOf<typeof choices>

const bodyNames = list(named('body'))
const fieldNames = list(named('field'))

const previewMembers = {
  operation: text,
  params: optional(values),
  body: optional(values),
  columns,
}

export const preview = record({
  ...previewMembers,
  /** Members of the input that are also sent to this operation. */
  takes: optional(bodyNames),
  /** Member of the result that is false if the write is not possible. The user then cannot submit it. */
  possible: optional(named('answer flag')),
})
/** Reads something before a write, and shows the result to the user. */
export type PagePreview = DataOf<typeof preview>

export const livePreview = record({
  ...previewMembers,
  /** Members of the form that the operation accepts. They must be optional, because fields may still be empty. */
  takes: bodyNames,
  /**
   * Sample values that the user types next to the form. They are not stored. `into` is the body member that receives
   * them by name. `of` is the member of the result with the variables: a list of `previewVariable`.
   */
  samples: optional(record({ into: named('body'), of: named('variables') })),
})
/**
 * Reads something for the current content of a form, and shows the result next to the form. The operation is called
 * after a short pause in typing, never several times at once. Errors are shown at the fields.
 */
export type PageLivePreview = DataOf<typeof livePreview>

/** A variable in the result of a live preview. The schema is `previewVariable` of `@plinth/http`. */
export interface PreviewVariable {
  /** Dotted name. `user.name` is the member `name` of `user`. */
  readonly name: string
  /** Members of the request that use the variable. */
  readonly usedIn: readonly string[]
  /** False if the variable is optional. */
  readonly needed: boolean
  /** True if the request contains a value for the variable. */
  readonly given: boolean
}

export const outcome = record({
  /**
   * Member of the response, or of its items if it is a list. Items of inner lists are counted too: `modules.outcome`.
   */
  field: named('outcome'),
  /** All other values are failures. */
  good: list(plainValue, 1),
  /** Member with the reason of a failure, as text for people. It is searched like `field`. */
  reason: optional(named('outcome')),
  /** Display names of its values. Default: those of the column that shows the member. */
  labels: optional(labels),
  /**
   * For an action on several rows: the member with the id of the row. It is searched like `field`. The message lists the
   * rows that failed, with their reason, and they stay selected.
   */
  id: optional(named('outcome')),
})
/** Which values of a response mean that the write succeeded. The HTTP response is successful in both cases. */
export type PageOutcome = DataOf<typeof outcome>

/** How a page shows the response `bulkResult` of `@plinth/http`: `...bulkOutcome` in an action on several rows. */
export const bulkOutcome = {
  outcome: {
    field: 'results.outcome',
    good: ['done', 'unchanged'],
    id: 'results.id',
    labels: {
      unknown: bilingual('Not found, or not in your data scope', '不存在，或不在您的数据范围内'),
      changed: bilingual('Another user changed it meanwhile', '期间已被其他用户修改'),
    },
  },
} as const

const resultLink = record({
  /** Id of a detail page. */
  page: text,
  /** Member of the response with the id of the row. If it is null, there is no link. */
  field: named('answer id'),
})
/** The row that a write created. The message after the write links to its page. */
export type PageResultLink = DataOf<typeof resultLink>

const amount = oneOf<{ readonly unit: string } | { readonly field: string }>({ unit: text, field: text })
/**
 * Asset or currency of an amount, or the member that contains it. A member that the user enters has priority over a member of
 * the row.
 */
export type PageAmount = DataOf<typeof amount>

/** How a write is confirmed. */
export const confirmation = { reason: optional(among(['optional', 'required'])), tone: optional(among(['danger'])) }

const write = {
  operation: text,
  body: optional(values),
  /**
   * Preview that is shown before the write. A text names the body member that turns the same operation into a preview
   * if it is true. An object describes another operation.
   */
  preview: optional(textOr(preview)),
  /** Columns of the result, or of its items if it is a list. Without columns, no result is shown after the write. */
  answer: optional(columns),
  /**
   * Determines whether the message after the write reports a success or a failure. Required if the response contains an
   * outcome, such as `outcome`, `passed`, or a state with the value `failed`.
   */
  outcome: optional(outcome),
  /**
   * Default for `POST /depots`: the page of `GET /depots/{id}`, if the response contains `id`. Default for other forms of
   * a list: the detail page of the list, if the response contains the key.
   */
  created: optional(resultLink),
  ...confirmation,
  /** Members with amounts. The user types them in the main unit, and minor units are sent. */
  amounts: optional(mapOf('field', amount)),
}

/** True if the operation belongs to a plugin that may be missing. The page then has no such button. */
const ofOptionalPlugin = { optional: optional(flag) }

const pickers = {
  /** Members that contain ids, with the kind of objects from which the user chooses. */
  options: optional(mapOf('field', labelPicker)),
  /** Members whose value the user chooses from the items that an operation returns. */
  choices: optional(mapOf('field', choices)),
}

export const action = record({
  ...write,
  ...ofOptionalPlugin,
  ...pickers,
  label: localized,
  params: values,
  query: optional(values),
  /** Body members that the user enters. */
  ask: optional(fieldNames),
  /** Member of the response that is shown only once, for example a new secret. */
  once: optional(named('result')),
  /** The action is available only if each of these members of the row has one of the listed values. */
  when: optional(map(list(plainValue))),
  /** One sentence with the effect of the action. The dialog shows it; with `undo`, the message after the action. */
  confirm: optional(localized),
  /** Member of the row whose value the user must type to confirm. */
  type: optional(named('text')),
  /**
   * Operation of the action of the same page that reverses this one. Then the action runs without a dialog, so it asks
   * for nothing, and its message has a button that reverses it.
   */
  undo: optional(named('operation')),
  /** For a list with a board: the value of the member `board.column` after the action. */
  leadsTo: optional(scalar),
})
/** Action on a row or on the object of a page. If its operation is a GET, the action is a download link. */
export type PageAction = DataOf<typeof action>

const formSection = record({
  title: localized,
  /** Fields of the form, in this order. */
  fields: fieldNames,
})
/** A group of fields with a heading. */
export type PageFormSection = DataOf<typeof formSection>

export const formSchema = record({
  ...write,
  ...ofOptionalPlugin,
  ...pickers,
  title: localized,
  /** One sentence that explains what the form does. */
  lead: optional(localized),
  /** Text of the submit button. Default: "Save". */
  submit: optional(localized),
  /** Body members in order. Nested members have dotted names. */
  fields: fieldNames,
  /** Groups of fields. Fields that no group contains come first. */
  sections: optional(list(formSection)),
  /**
   * Fields that are only shown while other members have one of the listed values: by field, then by member. A member is
   * another field, or a member of the object of the page. A field that is not shown is not sent.
   */
  showWhen: optional(mapOf('field', map(list(plainValue)))),
  /**
   * Fields of a new object that have the value of another field until the user changes them: by field, the name of the
   * other field. Both have the same type.
   */
  defaults: optional(mapOf('field', named('field'))),
  /** If true, the form sends all fields, as a PUT requires. By default, it sends only changed fields. */
  whole: optional(flag),
  /** Path parameters, if the form changes the object of a page. */
  params: optional(values),
  /** Members whose values are never shown. */
  secret: optional(bodyNames),
  /** Members whose text can have several lines. */
  long: optional(bodyNames),
  /** Preview next to the fields, which changes while the user types. */
  livePreview: optional(livePreview),
  /** Body member for the version that the page has loaded. */
  version: optional(named('body')),
  /** Member of the response that is shown only once, for example a new secret. */
  once: optional(named('result')),
})
/** A form that writes. */
export type PageForm = DataOf<typeof formSchema>

export const bulkAction = record({
  ...write,
  label: localized,
  /** Body member for the ids of the rows. */
  ids: named('body'),
  /** Body members that the user enters. */
  ask: optional(bodyNames),
  confirm: optional(localized),
})
/** An action on several rows. */
export type PageBulkAction = DataOf<typeof bulkAction>
