// Checks one cell against declarations. Given the compiler and the global declarations, gives the function that the worker calls.
(function (ts, globals) {
  'use strict';

  // Numbers of the compiler's own enumerations.
  const LATEST = 99;
  const ES_MODULE = 99;
  const WHOLE_TYPE = 1 | 64; // TypeFormatFlags: not cut short, with namespaces
  const PLAIN_VALUE = 1 | 2 | 16; // SymbolFlags: var, let and const, function
  const ERROR = 1;

  const OPTIONS = {
    strict: true,
    // Cells are short and often plain JavaScript: a parameter without a type and a caught error are no mistakes.
    noImplicitAny: false,
    noImplicitThis: false,
    useUnknownInCatchVariables: false,
    allowUnreachableCode: true,
    allowUnusedLabels: true,
    skipLibCheck: true,
    noEmit: true,
    noLib: true,
    types: [],
    target: LATEST,
    module: ES_MODULE,
  };

  // The cell is checked as the body of a function, where `await` and `return` may stand, inside a module that declares what the
  // session has. Namespaces and `declare` may not stand in a function, but work in a cell.
  const BEFORE = '\nasync function cell() {\n';
  const AFTER = '\n}\nexport {};';
  const ALLOWED_HERE = new Set([1184, 1235]);
  const MOST_DIAGNOSTICS = 50;
  const LONGEST_TYPE = 2000;
  const KEPT_DECLARATIONS = 32;

  const CELL = '/cell.ts';
  const read = (name, text) => ts.createSourceFile(name, text, LATEST, false);
  const fixed = new Map([
    ['/library.d.ts', read('/library.d.ts', ts.library)],
    ['/globals.d.ts', read('/globals.d.ts', globals)],
  ]);

  // Clients use the same capabilities again and again; the last ones used stay parsed.
  const declared = new Map();
  function declarations(text) {
    const file = declared.get(text) ?? read('/capabilities.d.ts', text);
    declared.delete(text);
    declared.set(text, file);
    if (declared.size > KEPT_DECLARATIONS) declared.delete(declared.keys().next().value);
    return file;
  }

  // Lines and columns of the author, counted from one, columns in characters.
  function problem(file, firstLine, diagnostic) {
    const { line, character } = ts.getLineAndCharacterOfPosition(file, diagnostic.start);
    const before = file.text.slice(diagnostic.start - character, diagnostic.start);
    const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, '; ');
    return { code: String(diagnostic.code), message, line: line - firstLine + 1, column: Array.from(before).length + 1 };
  }

  // The types of what the cell declares at its top level, for the cells that follow.
  function types(checker, file) {
    const found = [];
    for (const [name, symbol] of file.statements.at(-2)?.locals ?? []) {
      if (!(symbol.flags & PLAIN_VALUE)) continue;
      const text = checker.typeToString(checker.getTypeOfSymbol(symbol), undefined, WHOLE_TYPE);
      if (text.length <= LONGEST_TYPE) found.push([String(name), text]);
    }
    return found;
  }

  return function check(request) {
    const { code, capabilities, session } = JSON.parse(request);
    const files = new Map(fixed);
    files.set('/capabilities.d.ts', declarations(capabilities));
    const before = session + BEFORE;
    const file = read(CELL, before + code + AFTER);
    files.set(CELL, file);
    const program = ts.createProgram({
      rootNames: Array.from(files.keys()),
      options: OPTIONS,
      host: {
        getSourceFile: (name) => files.get(name),
        fileExists: (name) => files.has(name),
        readFile: (name) => files.get(name)?.text,
        writeFile() {},
        getDefaultLibFileName: () => '/library.d.ts',
        getCurrentDirectory: () => '/',
        getCanonicalFileName: (name) => name,
        useCaseSensitiveFileNames: () => true,
        getNewLine: () => '\n',
      },
    });
    const unchecked = code.includes('@ts-nocheck') && read(CELL, code).checkJsDirective?.enabled === false;
    const shown = unchecked ? [] : program.getSemanticDiagnostics(file).filter(({ category, code: number, start }) =>
      category === ERROR && start >= before.length && !ALLOWED_HERE.has(number));
    const firstLine = before.split('\n').length - 1;
    return JSON.stringify({
      problems: shown.slice(0, MOST_DIAGNOSTICS).map((diagnostic) => problem(file, firstLine, diagnostic)),
      unchecked,
      types: types(program.getTypeChecker(), file),
    });
  };
})
