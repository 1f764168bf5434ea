/*
 * The functions of TypeBox that this repository uses. This file is the entry point of the bundle in `typebox.gen.mjs`:
 * to use another function, add it here and run `npm run generate`. At run time, only the bundle is loaded.
 */
export {
  Array,
  Boolean,
  Enum,
  Integer,
  Literal,
  Null,
  Number,
  Object,
  Optional,
  Record,
  String,
  Union,
  Unknown,
  Unsafe,
} from 'typebox'
